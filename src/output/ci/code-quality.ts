import { createHash } from 'node:crypto';
import type { Finding } from '../command-result.ts';
import { sanitizeText } from '../sanitize.ts';

const SEVERITIES = { error: 'major', warning: 'minor' } as const;

/**
 * Formats findings as a GitLab Code Quality report. Leaves out findings without a file. A finding's fingerprint does not
 * depend on its line, so that GitLab recognizes the finding after lines above it change.
 */
export function formatCodeQuality(findings: readonly Finding[]): string {
  const occurrences = new Map<string, number>();
  const entries = findings.flatMap(({ level, place, type, message }) => {
    if (!place) return [];
    const content = JSON.stringify([place.file, type, message]);
    const occurrence = occurrences.get(content) ?? 0;
    occurrences.set(content, occurrence + 1);
    return [
      {
        description: sanitizeText(message),
        check_name: `partnerctl/${type}`,
        fingerprint: createHash('sha256').update(`${content}${occurrence}`).digest('hex'),
        severity: SEVERITIES[level],
        location: { path: place.file, lines: { begin: place.line ?? 1 } },
      },
    ];
  });
  return `${JSON.stringify(entries, null, 2)}\n`;
}
