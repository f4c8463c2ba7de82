const FILES = ['openapi.json', 'openapi.yaml'];

/**
 * Returns where the document of a service may be, if a URL is the address of the service: below the versioned base, below
 * the alias of the latest version (spec §9), or at the root, where frameworks publish it by default.
 * @returns undefined if the URL is that of a document
 */
export function publishedAt(url: URL): readonly URL[] | undefined {
  const path = url.pathname.replace(/\/+$/, '');
  const [, root = path, version] = /^(.*)\/(v\d+|latest)$/.exec(path) ?? [];
  if (version === undefined && path !== '') return undefined;
  const bases = new Set([version ?? 'v1', 'v1', 'latest'].map((name) => `${root}/${name}`)).add(root);
  return [...bases].flatMap((base) => FILES.map((file) => new URL(`${base}/${file}`, url.origin)));
}
