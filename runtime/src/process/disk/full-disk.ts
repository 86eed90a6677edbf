import { exitMessage, outOfSpaceMessage } from '../../exit-message.ts'
import type { ContainerRecord, RecordedEnd } from '../container-record.ts'
import type { ContainerContext } from '../container-run.ts'
import { ranOutOfSpace } from '../run-log.ts'
import { type WatchedRun, shimChild } from '../run.ts'

/** If the disk of a program cannot be measured, it counts as no longer full when a run has lasted this long. */
const RECOVERED_AFTER_MS = 10 * 60_000

/** Measures the disk of a running program. Resolves with the changes to the container's record. */
export async function measureDisk(
  { files, hostContext }: ContainerContext,
  record: ContainerRecord,
  run: WatchedRun,
): Promise<Partial<ContainerRecord>> {
  const now = hostContext.clock.now()
  const pid = await shimChild(run)
  if (pid === null) return {}
  const isFull = await hostContext.host.disks.isFull({ pid, dir: files.disk, image: files.diskImage })
  const hasRecovered = isFull === null && now.getTime() - new Date(record.since).getTime() > RECOVERED_AFTER_MS
  if (isFull === true && !record.diskFullSince) return { diskFullSince: now.toISOString() }
  return (isFull === false || hasRecovered) && record.diskFullSince ? { diskFullSince: null } : {}
}

/** Returns the changes to the record after a run: the disk is not full if the run is done, and full if the end of its log shows that. */
export function diskFullAtEnd(
  { files }: ContainerContext,
  record: ContainerRecord,
  lastRun: RecordedEnd,
): Partial<ContainerRecord> {
  if (lastRun.how === 'done') return { diskFullSince: null }
  const hasNoSpace = lastRun.how === 'error' && ranOutOfSpace(files.log, record.logBytesBefore)
  return hasNoSpace ? { diskFullSince: record.diskFullSince ?? lastRun.endedAt } : {}
}

/** Describes how a run ended, as a sentence for users; null after a success. `changes`: the result of `diskFullAtEnd`. */
export function endMessage(
  { hostContext }: ContainerContext,
  lastRun: RecordedEnd,
  changes: Partial<ContainerRecord>,
): string | null {
  const text = exitMessage(lastRun.exitCode, lastRun.how === 'oom')
  return text && changes.diskFullSince ? outOfSpaceMessage(text, hostContext.host.disks.containerBytes) : text
}
