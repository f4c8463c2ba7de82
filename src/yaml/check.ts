import * as v from 'valibot';
import type { Findings, Span } from './finding.ts';
import { label, wording } from './issue-wording.ts';
import type { Shape } from './shape.ts';
import { quoted } from './shown.ts';
import type { SourceText } from './source-text.ts';
import { containerOf, follow, type Path, type Place, type Tree } from './tree.ts';
import { type Meant, unknownKeys } from './unknown-keys.ts';

type Issue = v.BaseIssue<unknown>;

function pathOf(issue: Issue): Path {
  return (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? key : String(key)));
}

/** Scalars are underlined whole; of a list or mapping, only the beginning is pointed at. */
function pointed(value: unknown, { span }: Place): Span {
  return typeof value === 'object' && value !== null ? { offset: span.offset, length: 0 } : span;
}

/** Makes true or false of each variable that stands alone where the schema wants a boolean. @returns whether any was. */
function readFlags(issues: readonly Issue[], tree: Tree): boolean {
  let changed = false;
  for (const issue of issues) {
    const path = pathOf(issue);
    const key = path.at(-1);
    const { value, place } = follow(tree, path);
    const holder = follow(tree, path.slice(0, -1)).value;
    const isFlag = issue.type === 'boolean' && place.bare && (value === 'true' || value === 'false');
    if (!isFlag || key === undefined || typeof holder !== 'object' || holder === null) continue;
    Reflect.set(holder, key, value === 'true');
    changed = true;
  }
  return changed;
}

/**
 * Checks a document against a schema and reports everything that is wrong with it, each thing once.
 * @returns the checked value; undefined where it does not fit, or where something about it has been reported
 */
export function check<S extends Shape>(
  schema: S,
  tree: Tree,
  source: SourceText,
  findings: Findings,
): v.InferOutput<S> | undefined {
  const before = findings.all.length;

  function reportMissing(path: Path, meant: Meant): void {
    const parent = path.slice(0, -1);
    const key = String(path.at(-1));
    const { value: holder, place } = follow(tree, parent);
    const at = { offset: place.span.offset, length: 0 };
    const container = containerOf(tree.containers, holder);
    if (typeof holder !== 'object' || holder === null || !container) return;
    // To valibot, a list is an object whose keys are all missing.
    if (Array.isArray(holder)) findings.add(at, `${label(parent)} must be a mapping, not a list`);
    else if (!container.incomplete && !container.keys.has(key) && !meant.get(holder)?.has(key)) {
      findings.add(at, `the key ${quoted(key)} is missing${parent.length > 0 ? ` in ${label(parent)}` : ''}`);
    }
  }

  function reportIssue(issue: Issue, meant: Meant): void {
    const path = pathOf(issue);
    const { value, place, reported, depth } = follow(tree, path);
    if (reported) return;
    if (issue.path?.at(-1)?.origin === 'key') {
      reportMissing(path, meant);
      return;
    }
    if (depth < path.length) return;
    const { offset, length } = place.span;
    const written = source.text.slice(offset, offset + length);
    const { message, hint } = wording(issue, { path, value, place, written });
    findings.add(pointed(value, place), message, hint);
  }

  const meant = unknownKeys(schema, tree, findings);
  const parse = () => v.safeParse(schema, tree.root.value, { abortPipeEarly: true });
  let result = parse();
  if (!result.success && readFlags(result.issues, tree)) result = parse();
  for (const issue of result.issues ?? []) reportIssue(issue, meant);
  return result.success && findings.all.length === before ? result.output : undefined;
}
