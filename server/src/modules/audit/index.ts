export { deleteAuditBefore, recordAudit } from './store.ts'
