export { findSquid, lookUpSquid, parseReference } from './find.ts'
export {
  announceSquid,
  beginGeneration,
  clearDesired,
  countSquids,
  deleteSquid,
  existingSquids,
  insertSquid,
  listDesired,
  openWorkload,
  sealWorkload,
  selectSquid,
  selectSquidBySlot,
  setLastDeploy,
  type SquidRow,
  squidsChannel,
  updateSquid,
  workloadContext,
} from './store.ts'
export { squids } from './tables.ts'
export { removeTag, setTag, tagsOf } from './tags-store.ts'
