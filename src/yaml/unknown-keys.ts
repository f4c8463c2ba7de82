import type { Findings } from './finding.ts';
import type { Shape } from './shape.ts';
import { quoted } from './shown.ts';
import { nearest } from './suggest.ts';
import { type Container, containerOf, entry, type Tree } from './tree.ts';

/** For each mapping the missing keys that were probably meant by unknown ones. */
export type Meant = ReadonlyMap<object, ReadonlySet<string>>;

function reportUnknown(container: Container, known: readonly string[], findings: Findings): Set<string> {
  const meant = new Set<string>();
  for (const [key, span] of container.keys) {
    if (known.includes(key)) continue;
    const suggestion = nearest(
      key,
      known.filter((name) => !container.keys.has(name)),
    );
    if (suggestion !== undefined) meant.add(suggestion);
    const hint = suggestion === undefined ? `known here: ${known.join(', ')}` : `did you mean ${quoted(suggestion)}?`;
    findings.add(span, `unknown key ${quoted(key)}`, hint);
  }
  return meant;
}

/** Reports every key of every mapping that the schema does not know; valibot itself stops at a mapping's first. */
export function unknownKeys(shape: Shape, tree: Tree, findings: Findings): Meant {
  const meant = new Map<object, ReadonlySet<string>>();

  function visit(schema: Shape, value: unknown): void {
    const { wrapped, item, entries, pick } = schema;
    const container = containerOf(tree.containers, value);
    if (pick) visit(pick(value), value);
    else if (wrapped) visit(wrapped, value);
    else if (item && Array.isArray(value)) for (const each of value) visit(item, each);
    else if (entries && container && !Array.isArray(value)) visitMapping(entries, value, container);
  }

  function visitMapping(entries: Readonly<Record<string, Shape>>, value: unknown, container: Container): void {
    if (typeof value === 'object' && value !== null) {
      meant.set(value, reportUnknown(container, Object.keys(entries), findings));
    }
    for (const [key, inner] of Object.entries(entries)) visit(inner, entry(value, key));
  }

  visit(shape, tree.root.value);
  return meant;
}
