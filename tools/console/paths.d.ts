// The rows of `api.d.ts` by method and path, as the console asks for them.

declare namespace Api {
  type Method = Rows[keyof Rows]["method"];
  type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

  /** The row with this method and these parts of a path. */
  type Row<M, P> = {
    [N in keyof Rows]: Rows[N]["method"] extends M
      ? Same<Rows[N]["path"], P> extends true ? Rows[N] : never
      : never;
  }[keyof Rows];

  /** The parts of a path below a world, of all rows with this method. */
  type Rest<M = Method> = {
    [N in keyof Rows]: Rows[N]["method"] extends M
      ? Rows[N]["path"] extends ["worlds", string, ...infer R] ? R : never
      : never;
  }[keyof Rows];

  /** The path of a world, or of something in it. */
  type At<R> = string & { readonly below: R };

  /** A path that stands in a script as it is. */
  type Fixed = {
    [N in keyof Rows]: Rows[N]["path"] extends [infer One extends string] ? `/${One}` : never;
  }[keyof Rows];

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
