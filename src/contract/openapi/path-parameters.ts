import { lettersAndDigits, singularName } from './names.ts';

/** The name of a path parameter of the tool. */
export type PlaceholderName = 'space_id' | 'agent_id' | 'source_id' | 'session_id' | 'external_space_id';

/** The names of path parameters, and of the segments before them. */
const PLACEHOLDERS: Readonly<Record<PlaceholderName, readonly string[]>> = {
  space_id: ['space', 'workspace', 'customerspace', 'customerworkspace', 'tenant'],
  agent_id: ['agent', 'assistant', 'bot'],
  source_id: ['source', 'chatsource', 'apichatsource', 'channel', 'apichat', 'inbox'],
  session_id: ['session', 'conversation', 'thread', 'chat'],
  external_space_id: ['externalspace', 'externalworkspace', 'external'],
};

const ID_SUFFIX = /(?:id|pk|uuid|uid|guid|key)$/;

/** Whether a segment of a path is a placeholder: `{name}`. */
export function isPlaceholder(segment: string): boolean {
  return segment.startsWith('{');
}

/** Returns the path parameter for a placeholder, by its name, or else by the segment before it; undefined if neither fits. */
export function pathParameterOf(segment: string, before: string | undefined): PlaceholderName | undefined {
  const name = lettersAndDigits(segment);
  const resource = name.replace(ID_SUFFIX, '');
  const nouns = resource === '' ? [before ?? ''] : [name, resource, singularName(resource)];
  // External ids come first: an external space id is not a space id.
  const names: readonly PlaceholderName[] = ['external_space_id', 'space_id', 'agent_id', 'source_id', 'session_id'];
  return names.find((ours) => nouns.some((noun) => PLACEHOLDERS[ours].includes(noun)));
}

/** Returns the path parameters of a path, one for each placeholder. */
export function pathParametersOf(segments: readonly string[]): readonly (PlaceholderName | undefined)[] {
  return segments.flatMap((segment, index) =>
    isPlaceholder(segment) ? [pathParameterOf(segment, segments[index - 1])] : [],
  );
}
