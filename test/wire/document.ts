import { type Data, openApi } from '../support/openapi-documents.ts';
import { type Fact, Facts, prefixed, type Resource } from './facts.ts';
import type { Answer } from './pages.ts';
import { BASE_PATH, type Route, respond, routesOf } from './respond.ts';
import { isWire, listStyle, type Service } from './service.ts';

/** Writes the OpenAPI document of a service from what it responds to the examples of its requests. */
export function describeService(service: Service): Data {
  const facts = new Facts(service.ids ?? prefixed, listStyle(service, 'space').size);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routesOf(service, facts)) {
    if (route.lists === 'cron_job' && service.noJobList === 405) continue;
    const path = service.slash === undefined ? route.path : route.path.slice(0, -1);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(service, facts, route, path) };
  }
  return openApi(paths);
}

function describe(service: Service, facts: Facts, route: Route, path: string): Data {
  const { method, lists, parameters = {}, isRequired = false, body = {} } = route;
  const ids: Fact = { ...facts.space, ...facts.agent };
  const url = new URL(
    BASE_PATH + path.replace(/\{(\w+)\}/g, (_, name) => String(ids[name])),
    'https://api.example.com',
  );
  for (const [name, value] of Object.entries(parameters)) if (value !== '') url.searchParams.set(name, value);
  const answer = respond(service, facts, { method, url, body });
  const text = { schema: { type: 'string' } };
  const [file] = Object.keys(body).filter((name) => name === (service.fileField ?? 'file'));
  const content = file
    ? { 'multipart/form-data': { schema: formOf(file) } }
    : { 'application/json': { schema: schemaOf(service, [body]) } };
  return {
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, ...text })),
      ...Object.keys(parameters).map((name) => ({ name, in: 'query', required: isRequired, ...text })),
      ...(lists ? pagingParameters(service, lists) : []),
    ],
    ...(method === 'POST' && { requestBody: { required: true, content } }),
    responses: { [answer.status]: describeAnswer(service, answer) },
  };
}

function formOf(field: string): Data {
  const file = { type: 'string', format: 'binary' };
  return { type: 'object', properties: { [field]: file }, required: [field] };
}

function pagingParameters(service: Service, resource: Resource): Data[] {
  const { paging } = listStyle(service, resource);
  if (!paging) return [];
  const isNumber = paging.by === 'page' || paging.by === 'offset';
  const schema = isNumber ? { type: 'integer', minimum: paging.first, default: paging.first } : { type: 'string' };
  return [{ name: paging.parameter, in: 'query', schema }];
}

function describeAnswer(service: Service, { headers = {}, body }: Answer): Data {
  const names = Object.keys(headers).map((name) => [name, { schema: { type: 'string' } }]);
  return {
    description: 'Done.',
    headers: Object.fromEntries(names),
    ...(body !== undefined && { content: { 'application/json': { schema: schemaOf(service, [body]) } } }),
  };
}

/** Infers the schema of values that were seen in one place. */
function schemaOf(service: Service, values: readonly unknown[]): Data {
  const types = [...new Set(values.map(typeOf))];
  const objects = values.filter(isWire);
  const keys = [...new Set(objects.flatMap((each) => Object.keys(each)))];
  const properties = keys.map((key) => {
    const seen = objects.filter((each) => Object.hasOwn(each, key)).map((each) => each[key]);
    return [key, schemaOf(service, seen)];
  });
  const items = values.filter(Array.isArray).flat();
  const authors: readonly unknown[] = (service.author ?? ['role', 'user', 'assistant']).slice(1);
  return {
    type: types.length === 1 ? types[0] : types,
    ...(keys.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(types.includes('array') && { items: items.length > 0 ? schemaOf(service, items) : {} }),
    ...(values.every((value) => typeof value === 'string' && /^https?:/.test(value)) && { format: 'uri' }),
    ...(values.every((value) => typeof value === 'string' && authors.includes(value)) && { enum: authors }),
  };
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}
