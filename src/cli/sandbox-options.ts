import { InputError, LocalError, UsageError } from '../errors.ts';
import type { FaultPlan, Sandbox, Script } from '../sandbox/sandbox.ts';
import type { Args, FlagSpec } from './command.ts';
import { decodeText, describeFileError, MAX_TEXT_MIB, readFileChunks } from './input.ts';

/** The options of `sandbox start` and `sandbox run`. */
export interface SandboxInput {
  readonly dataDir: string | undefined;
  readonly faultsFile: string | undefined;
  readonly scriptFile: string | undefined;
  readonly shape: string | undefined;
  readonly port: number;
}

export const SANDBOX_FLAGS: readonly FlagSpec[] = [
  { usage: '--data <dir>', description: 'store the data in this directory', default: 'in memory' },
  {
    usage: '--faults <file>',
    description: 'a JSON file of faults to inject: {"rules":[{"kind":"status","status":503,"rate":0.1}]}',
  },
  {
    usage: '--script <file>',
    description: 'a YAML or JSON file that says how agents reply: [{"pattern":"hello","replies":[{"text":"Hi!"}]}]',
    default: 'an echo',
  },
  {
    usage: '--shape <name>',
    description: 'answer in another dialect; `partnerctl sandbox shapes` lists them',
    default: 'plain',
  },
];

export function parseSandboxOptions(args: Args): SandboxInput {
  return {
    dataDir: args.value('data'),
    faultsFile: args.value('faults'),
    scriptFile: args.value('script'),
    shape: args.value('shape'),
    port: args.count('port', { min: 0, max: 65_535, fallback: 0 }),
  };
}

interface OptionFile<T> {
  /** What the file contains: `script`. */
  readonly content: string;
  readonly hint: string;
  readonly parse: (text: string) => T;
}

/**
 * Reads and parses a file that a flag names.
 * @throws InputError that describes the problem; the signal's reason when the signal aborts
 */
async function readOptionFile<T>(path: string, signal: AbortSignal, file: OptionFile<T>): Promise<T> {
  try {
    return file.parse(await decodeText(readFileChunks(path, signal), MAX_TEXT_MIB));
  } catch (error) {
    signal.throwIfAborted();
    throw new InputError(`Cannot use the ${file.content} in ${path}.`, {
      why: describeFileError(error),
      hint: file.hint,
      cause: error,
    });
  }
}

async function readFaults(path: string, signal: AbortSignal): Promise<FaultPlan> {
  const { parseFaultPlan } = await import('../sandbox/faults.ts');
  return readOptionFile(path, signal, {
    content: 'faults',
    hint: 'Write a plan such as {"rules":[{"kind":"status","status":503,"times":1}]}; see: partnerctl help faults',
    parse: (text) => parseFaultPlan(JSON.parse(text)),
  });
}

async function readScript(path: string, signal: AbortSignal): Promise<Script> {
  const { parseScript } = await import('../sandbox/agents/reply-script.ts');
  return readOptionFile(path, signal, {
    content: 'script',
    hint: 'Write a list of rules such as [{"pattern":"hello","replies":[{"text":"Hi!","delay_ms":500}]}]; see: partnerctl help sandbox',
    parse: parseScript,
  });
}

/** @throws UsageError, with a suggestion if a shape has a similar name */
async function requireShape(name: string): Promise<void> {
  const { findShape, SHAPES } = await import('../sandbox/shapes/shapes.ts');
  if (findShape(name)) return;
  const { suggest } = await import('../yaml/suggest.ts');
  const names = SHAPES.map((shape) => shape.name);
  const near = suggest(name, names);
  throw new UsageError(`There is no shape ${JSON.stringify(name)}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}List the shapes with: partnerctl sandbox shapes`,
  });
}

/**
 * Starts a sandbox with the options from the flags.
 * @param signal cancels reading the files
 * @throws UsageError for an unknown shape, InputError for an unusable fault or script file, LocalError when the sandbox cannot start
 */
export async function startFromOptions(
  { dataDir, faultsFile, scriptFile, shape, port }: SandboxInput,
  signal: AbortSignal,
): Promise<Sandbox> {
  if (shape !== undefined) await requireShape(shape);
  const faults = faultsFile === undefined ? undefined : await readFaults(faultsFile, signal);
  const script = scriptFile === undefined ? undefined : await readScript(scriptFile, signal);
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  try {
    return await startSandbox({
      port,
      ...(dataDir !== undefined && { dataDir }),
      ...(faults && { faults }),
      ...(script && { script }),
      ...(shape !== undefined && { shape }),
    });
  } catch (error) {
    throw new LocalError('The sandbox cannot start.', {
      hint: 'Give another --port (or none, for a free one) or another --data directory.',
      why: error instanceof Error ? error.message : String(error),
      cause: error,
    });
  }
}
