import type { KubeClient } from './client/kube-client.ts'
import { kinds } from './client/kinds.ts'
import { ClusterRefusal, KubeError } from './client/kube-error.ts'
import { labels, namespaceOf } from './names.ts'
import { type TenantOptions, tenantObjects } from './objects/tenant-objects.ts'
import { installationSelector } from './state/cluster-state.ts'

/** Creates and deletes the namespaces of tenants. */
export class Tenants {
  readonly #options: TenantOptions
  /** The creation of each namespace with its objects, which a process does only once. */
  readonly #created = new Map<string, Promise<void>>()

  constructor(options: TenantOptions) {
    this.#options = options
  }

  /** Creates the namespace and its objects, once per process. */
  #ensure(client: KubeClient, tenant: string): Promise<void> {
    const existing = this.#created.get(tenant)
    if (existing) return existing
    const creating = (async () => {
      for (const object of tenantObjects(this.#options, tenant)) await client.apply(object)
    })()
    this.#created.set(tenant, creating)
    creating.catch(() => this.#created.delete(tenant))
    return creating
  }

  /**
   * Applies the objects of existing tenants again, since settings such as the quota or the credentials of the registry may have changed.
   * Logs what the cluster refuses. Ends early with `signal`.
   */
  async update(
    client: KubeClient,
    tenants: Iterable<string>,
    signal: AbortSignal,
    log: (message: string) => void,
  ): Promise<void> {
    for (const tenant of tenants) {
      if (signal.aborted) return
      await this.#ensure(client, tenant).catch((error: Error) => {
        const namespace = namespaceOf(this.#options.installation, tenant)
        if (!signal.aborted) log(`The namespace ${namespace} could not be updated: ${error.message}`)
      })
    }
  }

  /**
   * Runs `work` in the namespace of a tenant. Creates the namespace again if it was deleted in the meantime.
   * @throws ClusterRefusal while it is being deleted
   */
  async within(client: KubeClient, tenant: string, work: () => Promise<void>): Promise<void> {
    const attempt = async () => {
      await this.#ensure(client, tenant)
      await work()
    }
    try {
      await attempt().catch(async (error: unknown) => {
        this.#created.delete(tenant)
        if (!(error instanceof KubeError && error.status === 404)) throw error
        await attempt()
      })
    } catch (error) {
      if (!(error instanceof KubeError && /because it is being terminated/.test(error.message))) throw error
      const namespace = namespaceOf(this.#options.installation, tenant)
      throw new ClusterRefusal(
        `The namespace ${namespace} of the organization is being deleted in the cluster. Try again when it no longer exists.`,
        { cause: error },
      )
    }
  }

  /** Returns the tenants whose namespace exists and is not being deleted. */
  async list(client: KubeClient): Promise<string[]> {
    const labelSelector = installationSelector(this.#options.installation)
    const { items } = await client.list(kinds.namespace, { labelSelector })
    return items.flatMap(({ metadata }) => (metadata.deletionTimestamp ? [] : (metadata.labels?.[labels.tenant] ?? [])))
  }

  /** Starts to delete the namespace and everything in it. */
  async remove(client: KubeClient, tenant: string): Promise<void> {
    this.#created.delete(tenant)
    await client.delete(kinds.namespace, undefined, namespaceOf(this.#options.installation, tenant))
  }
}
