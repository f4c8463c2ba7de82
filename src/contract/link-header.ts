/**
 * Reads the Link header (RFC 8288) of a list.
 * @returns the URLs by relation; undefined if a header that mentions a next page cannot be parsed
 */
export async function parseLinkHeader(
  header: string | undefined,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (header === undefined) return {};
  const { default: LinkHeader } = await import('http-link-header');
  try {
    const links = LinkHeader.parse(header);
    const found = (['next', 'prev', 'first', 'last'] as const).flatMap((relation) => {
      const [found] = [...links.rel(relation), ...(relation === 'prev' ? links.rel('previous') : [])];
      // Some services link a next page from the last one, marked `results="false"`.
      return found === undefined || found.results === 'false' ? [] : [[relation, found.uri] as const];
    });
    return Object.fromEntries(found);
  } catch {
    return /\bnext\b/i.test(header) ? undefined : {};
  }
}
