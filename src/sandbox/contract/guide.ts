import type { Document } from './openapi.ts';

type DocumentedOperation = Document['paths'][string][string];

const WIDTH = 88;

function wrap(text: string, indent: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && indent.length + line.length + word.length >= WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `${indent}${line}`).join('\n');
}

function describeOperation(method: string, path: string, operation: NonNullable<DocumentedOperation>): string {
  const { summary, description, parameters, requestBody, responses } = operation;
  const named = parameters.map(({ name, in: place, required, description: meaning }) =>
    wrap(`${name} (${place}${required ? ', required' : ''}): ${meaning}`, '    '),
  );
  const bodies = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => {
    const { properties = {}, required = [] } = schema;
    const fields = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name} (optional)`));
    return wrap(`Body, ${type}: ${fields.join(', ')}`, '    ');
  });
  const statuses = Object.keys(responses).filter((status) => status !== 'default');
  const statusLine = wrap(`Responses: ${statuses.join(', ')}`, '    ');
  return [
    `${method.toUpperCase()} ${path}`,
    wrap(`${summary} ${description}`, '    '),
    ...named,
    ...bodies,
    statusLine,
  ].join('\n');
}

/** A plain-text guide to the service, made from its document. */
export function createGuide({ info, servers, paths }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => describeOperation(method, path, operation)),
  );
  return `${[
    `${info.title} ${info.version}`,
    wrap(info.description, ''),
    `Base URL: ${servers[0]?.url}\nThe whole schema is at openapi.json and openapi.yaml, below the base URL.`,
    'Every call carries the header\n\n    Authorization: Bearer <PARTNER_TOKEN>',
    wrap(
      'A typical flow: list or provision a space, set up API chat for an agent, send messages, and poll the history for replies after the last message.',
      '',
    ),
    wrap(
      'Repeats are safe where a stable id is sent: external_space_id and external_message_id. Creating a scheduled job is not: the same request again creates another job. Wait for Retry-After on 429; do not repeat a 402.',
      '',
    ),
    ...operations,
  ].join('\n\n')}\n`;
}
