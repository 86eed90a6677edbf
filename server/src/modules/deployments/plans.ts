import type { Operation } from './deployment-type.ts'
import type { Step } from './step.ts'
import { build } from './steps/build.ts'
import { publishUrls, removeIngress, untag } from './steps/ingress.ts'
import { deleteAddons, deletePrograms, hibernate, reset } from './steps/stop.ts'
import { syncAddons } from './steps/sync-addons.ts'
import { syncSquid } from './steps/sync-squid.ts'
import { unpack } from './steps/unpack.ts'

/** The steps of each operation, in order. */
export const stepsByType: Record<Operation, readonly [Step, ...Step[]]> = {
  DEPLOY: [unpack, build, syncAddons, syncSquid, publishUrls],
  DEPLOY_HARD_RESET: [unpack, build, reset, syncAddons, syncSquid, publishUrls],
  RESTART: [syncAddons, syncSquid],
  ROLLBACK: [syncAddons, syncSquid, publishUrls],
  HIBERNATE: [hibernate],
  DELETE: [deletePrograms, deleteAddons, removeIngress],
  SET_TAG: [publishUrls],
  REMOVE_TAG: [untag],
}
