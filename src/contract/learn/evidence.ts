import { checkLeaf } from '../check-leaf.ts';
import { LeafValueError } from '../leaf-value.ts';
import type { LeafName } from '../leaves.ts';
import type { OpenQuestion, Proposal } from '../proposal.ts';
import type { Exchange } from './exchange.ts';

/** A value for a leaf that recorded traffic shows. The evidence has keys and types, never values of fields. */
export interface LearnedValue extends Proposal {
  /** The lines of the trace that show it, from 1. */
  readonly lines: readonly number[];
}

/** A leaf for which the traffic shows several values. */
export interface AmbiguousLeaf {
  readonly leaf: LeafName;
  readonly candidates: readonly Omit<LearnedValue, 'leaf'>[];
}

const MAX_LINES = 20;
const MAX_VALUE = 300;
/** Path steps with a special meaning in JavaScript, and invisible characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?:^|[.:,|\s])(?:__proto__|constructor|prototype)(?:$|[.:,|\s[])/u;

/** Whether a value is valid for a leaf, and a person can read and type it. */
function isPossibleValue(leaf: LeafName, value: string): boolean {
  if (value.length > MAX_VALUE || UNSAFE.test(value)) return false;
  try {
    checkLeaf(leaf, value);
    return true;
  } catch (error) {
    if (error instanceof LeafValueError) return false;
    throw error;
  }
}

/** Describes where exchanges are: `line 3`, `lines 3 and 7`, `lines 3, 7, and 12 more`. */
function describeLines(exchanges: readonly Pick<Exchange, 'line'>[]): string {
  const [first, second, ...others] = linesOf(exchanges);
  if (second === undefined) return `line ${first ?? 0}`;
  return others.length === 0 ? `lines ${first} and ${second}` : `lines ${first}, ${second}, and ${others.length} more`;
}

function linesOf(exchanges: readonly Pick<Exchange, 'line'>[]): readonly number[] {
  return [...new Set(exchanges.map(({ line }) => line))];
}

/** Collects what the exchanges of a trace say about leaves. */
export class Evidence {
  readonly questions: OpenQuestion[] = [];
  private readonly found = new Map<LeafName, Map<string, { seen: string; exchanges: Exchange[] }>>();

  /**
   * Adds a value. Ignores values that are not valid for the leaf.
   * @param seen what the exchanges show
   */
  add(leaf: LeafName, value: string, seen: string, exchanges: readonly Exchange[]): void {
    if (!isPossibleValue(leaf, value)) return;
    const values = this.found.get(leaf) ?? new Map<string, { seen: string; exchanges: Exchange[] }>();
    this.found.set(leaf, values);
    const known = values.get(value);
    if (known) known.exchanges.push(...exchanges);
    else values.set(value, { seen, exchanges: [...exchanges] });
  }

  ask(leaf: LeafName | null, message: string): void {
    if (!this.questions.some((question) => question.message === message)) this.questions.push({ leaf, message });
  }

  /** Returns the leaves with one value, and those with several. */
  summarize(): { readonly learned: readonly LearnedValue[]; readonly ambiguous: readonly AmbiguousLeaf[] } {
    const all = [...this.found].map(([leaf, values]) => ({
      leaf,
      candidates: [...values].map(([value, { seen, exchanges }]) => ({
        value,
        evidence: `${describeLines(exchanges)}, ${seen}`,
        lines: linesOf(exchanges).slice(0, MAX_LINES),
      })),
    }));
    return {
      learned: all.flatMap(({ leaf, candidates: [first, ...others] }) =>
        first && others.length === 0 ? [{ leaf, ...first }] : [],
      ),
      ambiguous: all.filter(({ candidates }) => candidates.length > 1),
    };
  }
}
