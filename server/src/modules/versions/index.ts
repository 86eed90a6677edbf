export { findSquid, resolveReference } from './find.ts'
export { addNotice } from './notices-store.ts'
export {
  beginGeneration,
  countSquids,
  deleteSquid,
  existingSquids,
  insertSquid,
  listDesired,
  listOrgsWithSquids,
  openWorkload,
  sealWorkload,
  selectSquid,
  selectSquidBySlot,
  setLastDeploy,
  type SquidRow,
  squidsChannel,
  switchSquid,
  updateSquid,
  workloadContext,
} from './store.ts'
export { squids } from './tables.ts'
export { removeTag, setTag, tagsOf } from './tags-store.ts'
