import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'
import { KeyedMutex } from '../concurrency.ts'
import { baseImageOpener } from './base-image.ts'
import { LayerRecords } from './layers/layer-records.ts'
import type { Tools } from './layers/tools-layer.ts'
import { type PushTarget, pushDependencies, pushImage } from './push-image.ts'
import { credentialsFrom } from './registry/credentials.ts'
import { type RegistryAddress, parseRegistry, repositoryOf, tenantRepository } from './registry/registry-address.ts'
import { RegistryClient } from './registry/registry-client.ts'
import { RegistryError } from './registry/registry-error.ts'

export type RegistrySettings = {
  /** `host[:port][/path]`, with the prefix `http://` for a registry without TLS. */
  registry: string
  /** The name of a base image in any registry; null: the base is made of this host's files. */
  baseImage: string | null
  /** A file with credentials of registries in the format of Docker's `config.json`; null: none. */
  authFile: string | null
}

/** A registry, with the records of the layers in it. */
export type ImageRegistry = {
  address: RegistryAddress
  client: RegistryClient
  /** The settings that all pushes share. */
  target: Omit<PushTarget, 'repository' | 'signal' | 'onOmitted'>
  /**
   * Pushes an image with only the base and these tools, unless the registry has it. Resolves with its name.
   * @throws BuildFailure UNEXPECTED
   */
  toolsImage(tools: Tools, signal: AbortSignal): Promise<string>
  /** Pushes a tenant's layer of dependencies in advance, see `pushDependencies`. @throws RegistryError */
  pushDependencies(tenant: string, modules: string, key: string, push: PushCallbacks): Promise<number>
}

type PushCallbacks = Pick<PushTarget, 'signal' | 'onOmitted'>

/** The repository of layers that tenants share. The names of tenants' repositories start with `o`. */
const SHARED = 'base'

/**
 * Opens a registry. `dir`: records of layers, and layers while they are pushed; only one process may use it.
 * @throws Error with a sentence for the operator if a setting is invalid
 */
export async function openImageRegistry(settings: RegistrySettings, dir: string): Promise<ImageRegistry> {
  const address = parseRegistry(settings.registry)
  const findCredentials = credentialsFrom(settings.authFile)
  const client = new RegistryClient(address, findCredentials)
  const openBase = baseImageOpener(settings.baseImage, findCredentials)
  const records = await LayerRecords.open(join(dir, 'layers'))
  const sharedRepository = repositoryOf(address, SHARED, SHARED)
  const target = { client, sharedRepository, openBase, records, mutex: new KeyedMutex() }
  return {
    address,
    client,
    target,
    pushDependencies: (tenant, modules, key, push) =>
      pushDependencies({ ...target, repository: tenantRepository(address, tenant), ...push }, modules, key),
    async toolsImage(tools, signal) {
      const onOmitted = () => undefined
      const image = { ...tools, appDir: null, dependencyKey: null }
      try {
        const { digest } = await pushImage({ ...target, repository: sharedRepository, signal, onOmitted }, image)
        return `${address.host}/${sharedRepository}@${digest}`
      } catch (error) {
        throw error instanceof RegistryError ? new BuildFailure('UNEXPECTED', error.message) : error
      }
    },
  }
}
