export { metricsHandlers } from './handlers.ts'
export { bucketCount, bucketOf } from './histogram.ts'
export { addIngress, type IngressMinute } from './ingress-store.ts'
