import { describe, expect, test } from 'vitest';
import { changed, problemLines, read, VALID } from '../manifests.ts';

describe('anchors, aliases, and merge keys', () => {
  test('are resolved; own keys and earlier mappings win', () => {
    const text = `external_space_id: &id acme
space: { name: *id }
agents:
  - &first { template_id: one, name: One, auto_create_api_chat: true }
  - <<: *first
    name: Two
  - <<: [{ name: Three }, *first]
`;
    const { documents, problems } = read(text);
    expect(problems).toEqual([]);
    expect(documents[0]?.manifest).toEqual({
      external_space_id: 'acme',
      space: { name: 'acme' },
      agents: [
        { template_id: 'one', name: 'One', auto_create_api_chat: true },
        { template_id: 'one', name: 'Two', auto_create_api_chat: true },
        { template_id: 'one', name: 'Three', auto_create_api_chat: true },
      ],
    });
  });

  test('refer to the last value with the anchor', () => {
    const text = changed('name: Acme', 'name: &x Acme\n  description: &x Other').replace('Support', '*x');
    expect(read(text).documents[0]?.manifest.agents[0]?.name).toBe('Other');
  });

  test('a mistake in a shared value is reported once, where it is written', () => {
    const text = changed('- template_id', '- &a\n    extra: 1\n    template_id').concat('  - <<: *a\n    name: Two\n');
    expect(problemLines(read(text))).toEqual(['a.yaml:6:5 unknown key "extra"']);
  });

  test.each([
    [changed('Acme', '&n Acme\n  is_org_wide: *n'), '4:16 "space.is_org_wide" must be true or false, not "Acme"'],
    [changed('Acme', '*bold*'), '3:9 the anchor "&bold*" is not defined'],
    [`${VALID}  - <<: *later\n`, '7:9 the anchor "&later" is not defined'],
    [`${VALID}---\n${changed('acme-001', '*id')}`, '8:20 the anchor "&id" is not defined'],
    [changed('Acme', '&a [*a]'), '3:13 the alias "*a" is inside the value that it refers to'],
    [`${VALID}  - <<: 5\n`, '7:9 "<<" takes a mapping, or a list of mappings'],
    [`${VALID}"<<": {}\n`, '7:1 unknown key "<<"'],
  ])('%j', (text, message) => {
    expect(problemLines(read(text))[0]).toBe(`a.yaml:${message}`);
  });
});

describe('tags', () => {
  test.each(['!!binary aGk=', '!foo x', '!!str 5', '!!int "5"', '!foo [a]'])('are rejected: %s', (value) => {
    expect(problemLines(read(changed('Acme', value)))).toEqual([expect.stringContaining('tags are not supported')]);
  });

  test('text that only looks like a tag is text', () => {
    expect(problemLines(read(changed('Acme', '"!foo"\n  description: |\n    !bar')))).toEqual([]);
  });
});
