/** What completes a value: a list of choices, or what the value names. `text` is free text or `@<file>`. */
export type ValueKind =
  | readonly string[]
  | 'agent'
  | 'command'
  | 'directory'
  | 'file'
  | 'form'
  | 'free'
  | 'job'
  | 'key'
  | 'leaf'
  | 'leaf-or-value'
  | 'profile'
  | 'session'
  | 'source'
  | 'space'
  | 'text'
  | 'time-zone'
  | 'topic';

export interface TreeFlag {
  /** With its dashes. */
  readonly name: string;
  readonly short?: string;
  /** Absent for a flag without a value. */
  readonly value?: ValueKind;
  /** Whether the value may be left out. */
  readonly isOptional?: true;
  readonly isRepeatable?: true;
  readonly description: string;
}

export interface TreeArgument {
  readonly value: ValueKind;
  readonly isRepeatable?: true;
}

export interface TreeCommand {
  readonly summary: string;
  readonly args: readonly TreeArgument[];
  readonly flags: readonly TreeFlag[];
}

/** A value and its description. */
export type Described = readonly [value: string, description: string];

/** The commands, for completion. The build writes this to dist/complete.json, which each Tab reads. */
export interface CompletionTree {
  /** By path, such as `chat send`. */
  readonly commands: Readonly<Record<string, TreeCommand>>;
  /** The summary of each command group. */
  readonly groups: Readonly<Record<string, string>>;
  readonly globals: readonly TreeFlag[];
  readonly topics: readonly Described[];
  /** The names that `contract set` takes. */
  readonly leaves: readonly Described[];
}
