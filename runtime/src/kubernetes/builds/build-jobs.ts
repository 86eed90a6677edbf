import { setTimeout as delay } from 'node:timers/promises'
import type { BuildLog } from '../../build/build-log.ts'
import { BuildFailure } from '../../builder.ts'
import type { KubeClient } from '../client/kube-client.ts'
import { ClusterRefusal, ClusterUnreachable, KubeError } from '../client/kube-error.ts'
import { kinds } from '../client/kinds.ts'
import { buildLabelValue, labels, namespaceOf } from '../names.ts'
import type { EgressTarget } from '../objects/network-policy.ts'
import type { Job } from '../objects/object-types.ts'
import type { PodOptions } from '../objects/pod-template.ts'
import type { TenantOptions } from '../objects/tenant-objects.ts'
import { installationSelector } from '../state/cluster-state.ts'
import { Tenants } from '../tenants.ts'
import { type BuildAttempt, buildDependents, buildJob } from './build-objects.ts'
import type { BuildServer } from './build-server.ts'

export type BuildJobsOptions = TenantOptions & PodOptions & { log: (message: string) => void }

type Connected = {
  client: KubeClient
  server: BuildServer
  /** The URL of `server` for containers. */
  url: string
  /** The addresses that builds may reach besides DNS and the internet. */
  egressTo: EgressTarget[]
}

const RETRY_MS = 2000

/** Creates and deletes the Jobs of builds. */
export class BuildJobs {
  readonly options: BuildJobsOptions
  readonly client: KubeClient
  readonly server: BuildServer
  readonly url: string
  readonly #egressTo: EgressTarget[]
  readonly #tenants: Tenants

  constructor(options: BuildJobsOptions, { client, server, url, egressTo }: Connected) {
    this.options = options
    this.client = client
    this.server = server
    this.url = url
    this.#egressTo = egressTo
    this.#tenants = new Tenants(options)
  }

  /**
   * Creates the Job of an attempt, after deleting those of earlier attempts at the same build, even of a worker that no longer
   * exists. Waits while the cluster does not respond. @throws BuildFailure if it refuses the Job, or the reason of `signal`
   */
  async create(attempt: BuildAttempt, log: Pick<BuildLog, 'info'>, signal: AbortSignal): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      signal.throwIfAborted()
      try {
        await this.#tenants.within(this.client, attempt.tenant, () => this.#create(attempt))
        return
      } catch (error) {
        if (error instanceof ClusterRefusal) throw new BuildFailure('UNEXPECTED', error.message)
        if (error instanceof KubeError)
          throw new BuildFailure('UNEXPECTED', `The cluster refuses the build: ${error.message}`)
        if (!(error instanceof ClusterUnreachable)) throw error
        if (isFirst) log.info('The cluster does not respond: the build waits for it')
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  async #create(attempt: BuildAttempt): Promise<void> {
    const namespace = namespaceOf(this.options.installation, attempt.tenant)
    for (const { metadata } of await this.#others(attempt)) await this.#delete(namespace, metadata.name)
    const job = await this.client.apply<Job>(buildJob(attempt, this.options))
    for (const object of buildDependents(attempt, job.metadata.uid, this.#egressTo)) await this.client.apply(object)
  }

  /** True if there is another Job for the same build. */
  async hasOther(attempt: BuildAttempt): Promise<boolean> {
    return (await this.#others(attempt)).length > 0
  }

  async #others({ tenant, key, name }: BuildAttempt): Promise<Job[]> {
    const labelSelector = `${installationSelector(this.options.installation)},${labels.build}=${buildLabelValue(key)}`
    const namespace = namespaceOf(this.options.installation, tenant)
    const { items } = await this.client.list<Job>(kinds.job, { labelSelector }, namespace)
    return items.filter(({ metadata }) => metadata.name !== name && metadata.deletionTimestamp === undefined)
  }

  /** Deletes the Job. Logs a failure: the containers end when their connection to the worker ends, and the cluster deletes the Job later. */
  async remove({ tenant, name }: BuildAttempt): Promise<void> {
    const namespace = namespaceOf(this.options.installation, tenant)
    try {
      await this.#delete(namespace, name)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.options.log(`The Job ${name} in ${namespace} could not be deleted: ${reason}`)
    }
  }

  async #delete(namespace: string, name: string): Promise<void> {
    await this.client.delete(kinds.job, namespace, name, { propagationPolicy: 'Background' })
  }
}
