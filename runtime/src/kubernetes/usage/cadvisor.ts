/**
 * The usage of a cgroup as of `atMs`. CPU counters in seconds since the cgroup was created; null: the kubelet does not report it.
 * `memoryBytes`: without file cache that can be reclaimed immediately.
 */
export type CgroupReading = {
  atMs: number
  cpuSeconds: number | null
  throttledSeconds: number | null
  memoryBytes: number | null
}

const fields: Record<string, Exclude<keyof CgroupReading, 'atMs'>> = {
  container_cpu_usage_seconds_total: 'cpuSeconds',
  container_cpu_cfs_throttled_seconds_total: 'throttledSeconds',
  container_memory_working_set_bytes: 'memoryBytes',
}

/** The last part of a cgroup's path contains the id of a container or the uid of a pod, with `_` instead of `-` under systemd. */
const CONTAINER = /(?:^|[/-])([0-9a-f]{64})(?:\.scope)?$/
const POD = /(?:^|[/-])pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?$/

const OF_ONE_CPU = /(?:^|,)cpu="(?!total")/

/**
 * Parses lines of a kubelet's `/metrics/cadvisor`. The keys of the result are the ids of containers and the uids of pods. The usage of
 * a pod includes all of its containers.
 */
export async function parseCadvisor(
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<Map<string, CgroupReading>> {
  const readings = new Map<string, CgroupReading>()
  for await (const line of lines) {
    const [, name = '', labels = '', value, time] = /^([a-z_]+)\{(.*)\} (\S+)(?: (\d+))?$/.exec(line) ?? []
    const field = fields[name]
    const key = field && keyOf(/(?:^|,)id="([^"]*)"/.exec(labels)?.[1] ?? '')
    // On some hosts, there is an additional line for each CPU.
    if (!key || OF_ONE_CPU.test(labels)) continue
    const reading = readings.get(key) ?? { atMs: 0, cpuSeconds: null, throttledSeconds: null, memoryBytes: null }
    reading[field] = Number(value)
    if (field === 'cpuSeconds') reading.atMs = time === undefined ? Date.now() : Number(time)
    readings.set(key, reading)
  }
  return readings
}

const keyOf = (cgroup: string): string | undefined =>
  CONTAINER.exec(cgroup)?.[1] ?? POD.exec(cgroup)?.[1]?.replaceAll('_', '-')
