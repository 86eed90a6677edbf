export { setDiscount } from './discount.ts'
export { billingHandlers } from './handlers.ts'
export { stripeEventsOf } from './payments/stripe-events.ts'
export { startBilling } from './turn.ts'
