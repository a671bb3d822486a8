import java.net.http.HttpRequest;
import java.util.function.Consumer;
import sandbox.client.ApiClient;
import sandbox.client.ApiException;
import sandbox.client.api.PaymentsApi;
import sandbox.client.api.TransactionsApi;
import sandbox.client.model.ForcedOutcome;
import sandbox.client.model.StartPayment;
import sandbox.client.model.TransactionView;

public class Shop {
    public static void main(String[] args) throws ApiException {
        var client = new ApiClient();
        client.updateBaseUri(System.getenv("SANDBOX_URL"));
        Consumer<HttpRequest.Builder> key =
            request -> request.header("x-service-apikey", System.getenv("SANDBOX_KEY"));
        client.setRequestInterceptor(key);

        var sale = pay(client, ForcedOutcome.APPROVED);
        System.out.println(sale.getStatus());
        var decline = pay(client, ForcedOutcome.INSUFFICIENT_FUNDS);
        System.out.println(decline.getStatus() + " " + decline.getStatusReason());

        var transactions = new TransactionsApi(client);
        var search = TransactionsApi.APITransactionsSearchRequest.newBuilder().limit(1L).offset(1L);
        var page = transactions.transactionsSearch(search.build());
        System.out.println(page.getTransactions().size() + " of " + page.getTotal());
        try {
            var none = TransactionsApi.APITransactionsReadRequest.newBuilder().transactionId("none");
            transactions.transactionsRead(none.build());
        } catch (ApiException missing) {
            boolean isNamed = missing.getResponseBody().contains("\"error\":\"not_found\"");
            System.out.println(missing.getCode() + (isNamed ? " not_found" : ""));
        }
    }

    static TransactionView pay(ApiClient client, ForcedOutcome outcome) throws ApiException {
        var body = new StartPayment().amount(1000L).terminalId(System.getenv("SANDBOX_TERMINAL"));
        return new PaymentsApi(client).paymentsCreate(body, outcome);
    }
}
