import type { Operation } from './deployment-type.ts'
import type { DeploymentNotes } from './tables.ts'
import type { Step } from './step.ts'
import { build } from './steps/build.ts'
import { assignTag, deleteVersionRow, untag } from './steps/ingress.ts'
import { moveDatabase } from './steps/move-database.ts'
import { deleteAddons, deletePrograms, hibernate, reset } from './steps/stop.ts'
import { syncAddons } from './steps/sync-addons.ts'
import { syncSquid } from './steps/sync-squid.ts'
import { unpack } from './steps/unpack.ts'

type Steps = readonly [Step, ...Step[]]

/** The steps of each operation, in order. */
const stepsByType: Record<Operation, Steps> = {
  DEPLOY: [unpack, build, syncAddons, syncSquid, assignTag],
  DEPLOY_HARD_RESET: [unpack, build, reset, syncAddons, syncSquid, assignTag],
  RESTART: [syncAddons, syncSquid],
  ROLLBACK: [syncAddons, syncSquid, assignTag],
  HIBERNATE: [hibernate],
  DELETE: [deletePrograms, deleteAddons, deleteVersionRow],
  SET_TAG: [assignTag],
  REMOVE_TAG: [untag],
}

/** The steps of a move. Its deployment is a restart or hibernation, so that the previous release, which does not support moves, can end it. */
const stepsOfMove: Partial<Record<Operation, Steps>> = {
  RESTART: [syncAddons, moveDatabase],
  HIBERNATE: [moveDatabase],
}

/** Returns the steps of a deployment, in order. */
export const stepsOf = ({ type, notes }: { type: Operation; notes: DeploymentNotes }): Steps =>
  (notes.move ? stepsOfMove[type] : undefined) ?? stepsByType[type]
