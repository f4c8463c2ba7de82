import { type Alias, isAlias, isCollection, isNode, isPair, type Node } from 'yaml';
import type { Findings } from './finding.ts';
import { quoted } from './shown.ts';
import { spanOf } from './tree.ts';

/**
 * Finds for each alias the node that it stands for: the last one before it with its anchor.
 * An alias without one becomes a finding. Once over the tree, however many aliases there are.
 */
export function resolveAliases(contents: Node, findings: Findings): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const visit = (node: unknown): void => {
    if (isPair(node)) {
      visit(node.key);
      visit(node.value);
      return;
    }
    if (!isNode(node)) return;
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target) targets.set(node, target);
      else {
        const hint =
          'a value that begins with "*" needs quotes; an alias needs its "&" anchor before it, in the same document';
        findings.add(spanOf(node), `no anchor ${quoted(`&${node.source}`)} stands before this alias`, hint);
      }
      return;
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isCollection(node)) for (const item of node.items) visit(item);
  };
  visit(contents);
  return targets;
}
