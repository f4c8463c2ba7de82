declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';
  export default Agent;
}

declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici';
  export default buildConnector;
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  /** The body may come from any asynchronous iterable, too, which undici's own types leave out. */
  export type RequestOptions = Omit<Dispatcher.RequestOptions, 'body'> & {
    readonly body: Dispatcher.RequestOptions['body'] | AsyncIterable<Uint8Array>;
  };

  export default function request(this: Dispatcher, options: RequestOptions): Promise<Dispatcher.ResponseData>;
}
