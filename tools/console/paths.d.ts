// The operations of the control API by method and path, as the console asks for them. The module
// `control-api` is what openapi-typescript makes of docs/reference/openapi/control.json.

declare namespace Api {
  type Paths = import("control-api").paths;
  type Schemas = import("control-api").components["schemas"];

  /** The content of a JSON body, or nothing. */
  type Json<T> = [T] extends [never] ? undefined
    : T extends { content: { "application/json": infer B } } ? B : undefined;
  /** An answer: nothing is null, and what is no JSON is a text. */
  type Told<T> = T extends { content: infer C } ? "application/json" extends keyof C
    ? C["application/json"] : string : null;
  type Verb = "get" | "put" | "post" | "patch" | "delete";
  type Success = 200 | 201 | 202 | 204;

  /** The parts of a path, where any text can be a parameter. */
  type Parts<P> = P extends `/_sandbox/${infer R}` ? Parts<R>
    : P extends `${infer A}/${infer R}` ? [Part<A>, ...Parts<R>] : [Part<P>];
  type Part<A> = A extends `{${string}}` ? string : A;

  type Operation<P, M, O> = O extends { responses: infer R } ? {
    method: M;
    path: Parts<P>;
    body: Json<O["requestBody" & keyof O]>;
    answer: { [S in keyof R & Success]: Told<R[S]> }[keyof R & Success];
  } : never;
  type Rows = {
    [P in keyof Paths]: {
      [M in Verb]: Operation<P, Uppercase<M>, Paths[P][M]>;
    }[Verb];
  }[keyof Paths];

  type Method = Rows["method"];
  type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

  /** The row with this method and these parts of a path. */
  type Row<M, P, O = Rows> = O extends { method: M; path: infer Q; body: any; answer: any }
    ? Same<Q, P> extends true ? O : never
    : never;

  /** The parts of a path below a world, of all rows with this method. */
  type Rest<M = Method, O = Rows> =
    O extends { method: M; path: ["worlds", string, ...infer R] } ? R : never;

  /** The path of a world, or of something in it. */
  type At<R> = string & { readonly below: R };

  /** A path that stands in a script as it is. */
  type Fixed<O = Rows> = O extends { path: [infer One extends string] } ? `/${One}` : never;

  type Path = Fixed | At<Rest>
    | `/worlds/${string}` | `/scenarios/${string}` | `${string}?${string}`;

  type RowAt<M, P> = P extends At<infer R extends unknown[]>
    ? Row<M, ["worlds", string, ...R]>
    : P extends `/${infer One}` ? Row<M, [One]> : never;

  /** What a row below a world takes and answers. Parts that a script got from elsewhere fit any. */
  type BodyBelow<M, R extends unknown[]> =
    [Rest<M>] extends [R] ? any : Row<M, ["worlds", string, ...R]>["body"];
  type AnswerBelow<M, R extends unknown[]> =
    [Rest<M>] extends [R] ? any : Row<M, ["worlds", string, ...R]>["answer"];

  /** What a row takes and answers. Paths that are put together from texts can be of any row. */
  type Body<M, P> = P extends Fixed | At<any> ? RowAt<M, P>["body"] : any;
  type Answer<M, P> = P extends Fixed | At<any> ? RowAt<M, P>["answer"] : any;
}

/** The editor, which is a bundle without types. */
declare module "*/editor.mjs";
