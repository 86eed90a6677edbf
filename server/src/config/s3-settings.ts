import { z } from 'zod'
import { InvalidSettingError } from './invalid-setting.ts'

/** Settings of the bucket for the archives of squids. */
export const s3Settings = {
  SHOAL_S3_BUCKET: z
    .string()
    .min(3)
    .optional()
    .describe(
      'S3 bucket for the archives that users deploy, so that the `api` and `worker` roles can run on different hosts. Several installations may share it. Unset: `uploads` in SHOAL_DATA_DIR.',
    ),
  SHOAL_S3_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'URL of an S3 server such as Ceph, Garage or SeaweedFS; requests have the bucket in their path. Unset: AWS.',
    ),
  SHOAL_S3_REGION: z.string().default('us-east-1').describe('Region of the bucket.'),
  SHOAL_S3_ACCESS_KEY: z
    .string()
    .optional()
    .describe(
      'Access key that may read, write, list and delete objects of the bucket. Unset: the credentials that the AWS SDK finds, such as the role of the host.',
    ),
  SHOAL_S3_SECRET_KEY: z.string().optional().describe('See SHOAL_S3_ACCESS_KEY.'),
} satisfies Record<string, z.ZodType>

export type S3Settings = {
  bucket: string
  endpoint: string | undefined
  region: string
  /** Undefined: the credentials that the AWS SDK finds. */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

type Values = z.output<z.ZodObject<typeof s3Settings>>

/** Returns the settings of the bucket; null if there is none. @throws InvalidSettingError if a setting is set without another one that it requires */
export function parseS3Settings(values: Values): S3Settings | null {
  const { SHOAL_S3_ACCESS_KEY: accessKeyId, SHOAL_S3_SECRET_KEY: secretAccessKey, SHOAL_S3_ENDPOINT: endpoint } = values
  if (values.SHOAL_S3_BUCKET === undefined) {
    const [unused] = Object.entries({
      SHOAL_S3_ENDPOINT: endpoint,
      SHOAL_S3_ACCESS_KEY: accessKeyId,
      SHOAL_S3_SECRET_KEY: secretAccessKey,
    }).filter(([, value]) => value !== undefined)
    if (unused) throw new InvalidSettingError(`SHOAL_S3_BUCKET must be set, because ${unused[0]} is.`)
    return null
  }
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw new InvalidSettingError('SHOAL_S3_ACCESS_KEY and SHOAL_S3_SECRET_KEY must both be set, or neither.')
  if (endpoint !== undefined && new URL(endpoint).username !== '')
    throw new InvalidSettingError(
      'SHOAL_S3_ENDPOINT must be a URL without credentials, which belong in SHOAL_S3_ACCESS_KEY and SHOAL_S3_SECRET_KEY. (Its value is not shown.)',
    )
  return {
    bucket: values.SHOAL_S3_BUCKET,
    endpoint,
    region: values.SHOAL_S3_REGION,
    credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined,
  }
}
