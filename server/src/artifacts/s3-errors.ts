import { ArtifactsUnavailable } from './artifact-store.ts'

/** What to do about errors that are caused by wrong settings or the bucket's policy, by error code. */
const advice: Record<string, string> = {
  NoSuchBucket: 'create the bucket, or correct SHOAL_S3_BUCKET',
  InvalidBucketName: 'correct SHOAL_S3_BUCKET',
  InvalidAccessKeyId: 'correct SHOAL_S3_ACCESS_KEY',
  SignatureDoesNotMatch: 'correct SHOAL_S3_SECRET_KEY',
  AccessDenied: 'allow these credentials to read, write, list and delete objects of the bucket',
  AuthorizationHeaderMalformed: 'correct SHOAL_S3_REGION',
  PermanentRedirect: 'correct SHOAL_S3_REGION or SHOAL_S3_ENDPOINT',
  CredentialsProviderError: 'set SHOAL_S3_ACCESS_KEY and SHOAL_S3_SECRET_KEY, or attach an IAM role to this host',
}

type S3Error = { name?: unknown; code?: unknown; $metadata?: { httpStatusCode?: unknown } }

/**
 * Converts an error of the S3 client. Copies only its codes: its other fields contain the access key and the signed text of the
 * request, which must not be logged.
 */
export function s3Unavailable(error: unknown, location: string): ArtifactsUnavailable {
  if (error instanceof ArtifactsUnavailable) return error
  const { code, status } = codeAndStatusOf(error)
  const isRejected = status !== null && [301, 400, 401, 403, 404].includes(status)
  const remedy = advice[code] ?? (isRejected ? 'check the settings SHOAL_S3_*, and the policy of the bucket' : null)
  const reason = [code, status === null ? '' : `HTTP ${status}`].filter(Boolean).join(', ')
  return new ArtifactsUnavailable(`${location} is unavailable (${reason})${remedy ? `: ${remedy}` : ''}.`, {
    isMisconfigured: remedy !== null,
  })
}

/** Whether S3 reports that the object does not exist. A missing bucket is another error. */
export function isMissingObject(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes(codeAndStatusOf(error).code)
}

/** Returns the code of an error, and the HTTP status if the server responded. */
function codeAndStatusOf(error: unknown): { code: string; status: number | null } {
  if (!(error instanceof Error)) return { code: 'unknown error', status: null }
  const { name, code, $metadata } = error as S3Error
  const status = typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : null
  const first: unknown = error instanceof AggregateError ? error.errors[0] : null
  if (first && typeof code !== 'string') return codeAndStatusOf(first)
  const text = typeof code === 'string' ? code : String(name)
  return { code: /^[\w.-]{1,60}$/.test(text) ? text : 'unknown error', status }
}
