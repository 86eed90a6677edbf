export { bucketCount, bucketOf, percentile } from './histogram.ts'
export { addIngress, type IngressMinute } from './ingress-store.ts'
