import { groupBy } from '../contract/group-by.ts';
import { foldExternalId } from '../contract/provisioning.ts';
import type { ListedSpace } from '../contract/spaces.ts';
import type { Manifest, ManifestDocument } from './manifest.ts';

/** A space whose external id differs from that of a document only in its spelling: the service may take both for one. */
export interface SimilarSpace {
  readonly external_space_id: string;
  /** Undefined if it is not known to exist. */
  readonly space_id: string | undefined;
  /** The document that describes it, if one of the run does. */
  readonly source: string | undefined;
}

/** @param listed the space of such an external id that the service lists, if it does */
export type FindSimilar = (document: ManifestDocument, listed: ListedSpace | undefined) => SimilarSpace | undefined;

/**
 * Creates a function that finds the space that the service may take for that of a document: of another document of the run,
 * which comes first or exists, or else one that is listed.
 * @param recordedId returns the recorded id of the space of a manifest
 */
export function createSimilarFinder(
  documents: readonly ManifestDocument[],
  recordedId: (manifest: Manifest) => string | undefined,
): FindSimilar {
  const byFoldedId = groupBy(documents, ({ manifest }) => foldExternalId(manifest.external_space_id));
  return ({ index, manifest }, listed) => {
    const exists = ({ manifest: other }: ManifestDocument) =>
      recordedId(other) !== undefined || other.external_space_id === listed?.external_space_id;
    const rival = byFoldedId
      .get(foldExternalId(manifest.external_space_id))
      ?.find((other) => other.index < index || (other.index > index && exists(other)));
    if (rival) {
      const { external_space_id } = rival.manifest;
      return { external_space_id, space_id: recordedId(rival.manifest) ?? listed?.space_id, source: rival.source };
    }
    if (typeof listed?.external_space_id !== 'string') return undefined;
    return { external_space_id: listed.external_space_id, space_id: listed.space_id, source: undefined };
  };
}
