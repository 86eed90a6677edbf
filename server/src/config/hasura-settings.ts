import type { DriverName } from '@shoal/runtime'
import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { InvalidSettingError, invalidSettingMessage } from './invalid-setting.ts'

/** Settings for the addon `hasura`. Shoal does not include Hasura: the operator provides it. */
export const hasuraSettings = {
  SHOAL_HASURA_IMAGE: z
    .string()
    .optional()
    .describe(
      'Image of Hasura for the addon `hasura`, with SHOAL_RUNTIME=kubernetes, such as `registry.example.com/hasura/graphql-engine:v2.48.0`. Nodes pull it with the credentials of SHOAL_KUBE_PULL_AUTH_FILE. Unset: manifests with the addon are rejected.',
    ),
  SHOAL_HASURA_PROGRAM: z
    .string()
    .optional()
    .describe(
      'Absolute path of the program `graphql-engine` on this host for the addon `hasura`, with SHOAL_RUNTIME=process. Users of squids must be able to read and execute it, and it must need no other files outside of `/usr`. Unset: manifests with the addon are rejected.',
    ),
} satisfies Record<string, z.ZodType>

type Values = z.output<z.ZodObject<typeof hasuraSettings>> & { SHOAL_RUNTIME: DriverName }

/** Returns how the installation runs Hasura; null if it does not offer Hasura. @throws InvalidSettingError */
export function parseHasuraSettings(values: Values): { image: string } | { file: string } | null {
  const { SHOAL_HASURA_IMAGE: image, SHOAL_HASURA_PROGRAM: file, SHOAL_RUNTIME: runtime } = values
  if (image !== undefined && runtime !== 'kubernetes')
    refuse('SHOAL_HASURA_IMAGE', image, `unset while SHOAL_RUNTIME is "${runtime}", which runs SHOAL_HASURA_PROGRAM`)
  if (file !== undefined && runtime === 'kubernetes')
    refuse('SHOAL_HASURA_PROGRAM', file, 'unset while SHOAL_RUNTIME is "kubernetes", which runs SHOAL_HASURA_IMAGE')
  if (file !== undefined && !isAbsolute(file)) refuse('SHOAL_HASURA_PROGRAM', file, 'an absolute path')
  if (image !== undefined) return { image }
  return file === undefined ? null : { file }
}

function refuse(name: keyof typeof hasuraSettings, value: string, allowed: string): never {
  throw new InvalidSettingError(invalidSettingMessage(name, value, allowed))
}
