package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	platform "example.com/shop/platform"
)

var client *platform.APIClient

func main() {
	settings := platform.NewConfiguration()
	settings.Servers = platform.ServerConfigurations{{URL: os.Getenv("SANDBOX_URL")}}
	settings.AddDefaultHeader("x-service-apikey", os.Getenv("SANDBOX_KEY"))
	client = platform.NewAPIClient(settings)
	all := context.Background()

	fmt.Println(pay(platform.FORCEDOUTCOME_APPROVED).Status)
	decline := pay(platform.FORCEDOUTCOME_INSUFFICIENT_FUNDS)
	fmt.Println(decline.Status, decline.StatusReason)

	page, _, err := client.TransactionsAPI.TransactionsSearch(all).Limit(1).Offset(1).Execute()
	must(err)
	fmt.Println(len(page.Transactions), "of", page.Total)

	_, answer, err := client.TransactionsAPI.TransactionsRead(all, "none").Execute()
	var missing platform.Error
	refused := err.(*platform.GenericOpenAPIError)
	must(json.Unmarshal(refused.Body(), &missing))
	fmt.Println(answer.StatusCode, missing.Error)
}

func pay(outcome platform.ForcedOutcome) *platform.TransactionView {
	body := platform.NewStartPayment(1000)
	body.SetTerminalId(os.Getenv("SANDBOX_TERMINAL"))
	asked := client.PaymentsAPI.PaymentsCreate(context.Background())
	payment, _, err := asked.StartPayment(*body).XSandboxOutcome(outcome).Execute()
	must(err)
	return payment
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
