import type { KubeClient } from './client/kube-client.ts'
import { kinds } from './client/kinds.ts'
import { labels, namespaceOf } from './names.ts'
import { type TenantOptions, tenantObjects } from './objects/tenant-objects.ts'
import { installationSelector } from './state/cluster-state.ts'

/** The namespaces of tenants. */
export class Tenants {
  readonly #options: TenantOptions
  /** The creation of each namespace and what it contains, once by each process. */
  readonly #created = new Map<string, Promise<void>>()

  constructor(options: TenantOptions) {
    this.#options = options
  }

  /** Creates the namespace and what it contains. */
  ensure(client: KubeClient, tenant: string): Promise<void> {
    const existing = this.#created.get(tenant)
    if (existing) return existing
    const creating = (async () => {
      for (const object of tenantObjects(this.#options, tenant)) await client.apply(object)
    })()
    this.#created.set(tenant, creating)
    creating.catch(() => this.#created.delete(tenant))
    return creating
  }

  /** The tenants whose namespace exists and is not being deleted. */
  async list(client: KubeClient): Promise<string[]> {
    const labelSelector = installationSelector(this.#options.installation)
    const { items } = await client.list(kinds.namespace, { labelSelector })
    return items.flatMap(({ metadata }) => (metadata.deletionTimestamp ? [] : (metadata.labels?.[labels.tenant] ?? [])))
  }

  /** Begins to delete the namespace, with all that is in it. */
  async remove(client: KubeClient, tenant: string): Promise<void> {
    this.#created.delete(tenant)
    await client.delete(kinds.namespace, undefined, namespaceOf(this.#options.installation, tenant))
  }
}
