import type { RegistrySettings } from '@shoal/runtime'
import { z } from 'zod'
import { InvalidSettingError } from './invalid-setting.ts'

/** Settings for the registry to which the images of squids are pushed. */
export const registrySettings = {
  SHOAL_REGISTRY: z
    .string()
    .optional()
    .describe(
      'Registry to which Shoal also pushes the images of squids, as `host[:port][/path]`. Shoal connects over TLS, unless the registry is on loopback or the value starts with `http://`. Unset: images are stored only in SHOAL_DATA_DIR.',
    ),
  SHOAL_REGISTRY_AUTH_FILE: z
    .string()
    .optional()
    .describe(
      'File with credentials for registries in the format of Docker’s `config.json`, which Shoal reads again for each use. Unset: no credentials.',
    ),
  SHOAL_BASE_IMAGE: z
    .string()
    .optional()
    .describe(
      'Image on which pushed images are based, in any registry, such as `docker.io/library/node:20-bookworm-slim`. It needs glibc, its C++ library and a shell; Shoal adds Node. Unset: Shoal makes a base image from files of this host.',
    ),
} satisfies Record<string, z.ZodType>

type Values = z.output<z.ZodObject<typeof registrySettings>>

/** Returns the settings of the registry; null if there is none. @throws InvalidSettingError if another setting needs SHOAL_REGISTRY */
export function parseRegistrySettings(values: Values): RegistrySettings | null {
  const {
    SHOAL_REGISTRY: registry,
    SHOAL_REGISTRY_AUTH_FILE: authFile = null,
    SHOAL_BASE_IMAGE: baseImage = null,
  } = values
  if (registry !== undefined) return { registry, authFile, baseImage }
  const [unused] = Object.entries({ SHOAL_REGISTRY_AUTH_FILE: authFile, SHOAL_BASE_IMAGE: baseImage }).filter(
    ([, value]) => value !== null,
  )
  if (unused) throw new InvalidSettingError(`SHOAL_REGISTRY must be set, because ${unused[0]} is.`)
  return null
}
