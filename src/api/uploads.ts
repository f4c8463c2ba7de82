import { OPERATIONS } from '../contract/operations.ts';
import { readUploadId, type UploadKind } from '../contract/uploads.ts';
import type { Http } from './http.ts';
import type { StreamedBody } from './streamed-body.ts';

const CREATE = { attachment: OPERATIONS.createFileAttachment, document: OPERATIONS.createDocument } as const;

/**
 * Uploads a file or a text (spec §4, endpoints 7 and 8). It is sent again only where the service cannot have had all of it:
 * the request never left, or was answered or lost before its last byte was handed over.
 * @returns the id of what was created
 * @throws OutcomeUnknownError when it may have been created, though no readable answer says so; every other PartnerctlError
 * proves that it was not. Whatever the body fails with, as it is
 */
export async function createUpload(http: Http, kind: UploadKind, body: StreamedBody): Promise<string> {
  const answer = await http.call(CREATE[kind], { body });
  return answer.read((said) => readUploadId(said, kind));
}
