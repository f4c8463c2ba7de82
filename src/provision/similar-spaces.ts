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

/** How the spaces of a run are known from the state. */
interface RecordedIds {
  /** The recorded id of the space of a manifest. */
  recordedId(manifest: Manifest): string | undefined;
  /** The ids of all recorded spaces, whatever documents the run has, by external id. @throws LocalError */
  allIds(): Promise<ReadonlyMap<string, string>>;
}

/** What the list of spaces says about the space of a document. */
interface ListedSpelling {
  /** Whether the list can be read. */
  readonly canRead: boolean;
  /** The listed space with such an external id. */
  readonly space: ListedSpace | undefined;
}

/** @throws LocalError if the state has to be read, and cannot be */
export type FindSimilar = (document: ManifestDocument, listed: ListedSpelling) => Promise<SimilarSpace | undefined>;

/**
 * Creates a function that finds the space that the service may take for that of a document: of an earlier document of the run,
 * of a later one that exists, or else one that is listed or, without a list, recorded.
 */
export function createSimilarFinder(documents: readonly ManifestDocument[], recorded: RecordedIds): FindSimilar {
  const byFoldedId = groupBy(documents, ({ manifest }) => foldExternalId(manifest.external_space_id));
  let recordedByFoldedId: Promise<ReadonlyMap<string, readonly [string, string][]>> | undefined;

  function findDocument({ index, manifest }: ManifestDocument, listed: ListedSpace | undefined) {
    const alike = byFoldedId.get(foldExternalId(manifest.external_space_id)) ?? [];
    const exists = ({ manifest: other }: ManifestDocument) =>
      recorded.recordedId(other) !== undefined || other.external_space_id === listed?.external_space_id;
    return alike.find((other) => other.index < index) ?? alike.find((other) => other.index > index && exists(other));
  }

  async function findRecorded({ external_space_id }: Manifest): Promise<SimilarSpace | undefined> {
    recordedByFoldedId ??= recorded.allIds().then((ids) => groupBy([...ids], ([id]) => foldExternalId(id)));
    const alike = (await recordedByFoldedId).get(foldExternalId(external_space_id));
    const [id, space_id] = alike?.find(([other]) => other !== external_space_id) ?? [];
    return id === undefined ? undefined : { external_space_id: id, space_id, source: undefined };
  }

  return async (document, { canRead, space }) => {
    const rival = findDocument(document, space);
    if (rival) {
      const { external_space_id } = rival.manifest;
      return {
        external_space_id,
        space_id: recorded.recordedId(rival.manifest) ?? space?.space_id,
        source: rival.source,
      };
    }
    if (typeof space?.external_space_id === 'string') {
      return { external_space_id: space.external_space_id, space_id: space.space_id, source: undefined };
    }
    return canRead ? undefined : findRecorded(document.manifest);
  };
}
