export { billingHandlers } from './handlers.ts'
export { startBilling } from './turn.ts'
