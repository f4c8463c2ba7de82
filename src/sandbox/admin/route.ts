import type { ServiceContext } from '../service.ts';

/** One endpoint of the admin surface: the path below `/_sandbox`. */
export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  handle(c: ServiceContext): Response | Promise<Response>;
}
