export { startCertificates } from './keep.ts'
export { findChallengeCertificate, findCertificate, findKeyAuthorization, describeCertificates } from './find.ts'
export { certificatesChannel } from './store.ts'
export { sealedCertificateColumns } from './sealed-columns.ts'
