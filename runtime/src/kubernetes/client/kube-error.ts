/** The API server refused a request. `message`: the server's message. */
export class KubeError extends Error {
  override name = 'KubeError'
  readonly status: number
  /** `NotFound`, `AlreadyExists`, `Conflict`, `Forbidden`, `Expired` …; empty if the response has none. */
  readonly reason: string
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

/** The cluster refuses a workload for a reason that users can act on: `message` is a sentence for them. */
export class ClusterRefusal extends Error {
  override name = 'ClusterRefusal'
}

/** The API server did not respond, so the state of the cluster is unknown. */
export class ClusterUnreachable extends Error {
  override name = 'ClusterUnreachable'
}
