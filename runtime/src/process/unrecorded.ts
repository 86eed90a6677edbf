import { join } from 'node:path'
import { endBoxes } from './box.ts'
import { STOP_GRACE_MS, workloadsDirIn } from './container-record.ts'
import { BOX_PREFIX, type HostContext, boxName } from './container-run.ts'
import { commandLine, listProcesses } from './processes.ts'
import { endPrograms } from './program-tree.ts'

/**
 * Ends what runs on this host for our state directory and is no run of these containers: programs of which no record is left, and
 * second copies that another worker has started beside the recorded one. `shim`: the top process of the run that is recorded.
 */
export async function endUnrecorded(
  hostContext: HostContext,
  containers: { key: string; shim: number | null }[],
): Promise<void> {
  await endBoxes(hostContext.host, BOX_PREFIX, new Set(containers.map(({ key }) => boxName(key))))
  for (const root of copies(hostContext, new Set(containers.map(({ shim }) => shim)))) {
    const tree = { mark: `${hostContext.host.label}/copy`, cgroup: null, root }
    await endPrograms(tree, { graceMs: STOP_GRACE_MS, spare: null })
  }
  hostContext.sockets.keepOnly(containers.map(({ key }) => key))
}

/** Shims of our containers that no record names. A shim's own fork looks like a shim until it becomes the program. */
function copies({ host }: HostContext, shims: Set<number | null>) {
  const dir = join(workloadsDirIn(host.stateDir), '/')
  return listProcesses().filter(
    ({ pid, parent }) => !shims.has(pid) && !shims.has(parent) && commandLine(pid)[2]?.startsWith(dir),
  )
}
