export { certificateStates, addName, type CertificateState } from './names.ts'
export { startCertificates } from './maintain.ts'
export {
  findChallengeCertificate,
  findCertificate,
  findKeyAuthorization,
  ownCertificates,
  type CertificateFact,
} from './find.ts'
export { certificatesChannel } from './store.ts'
export { sealedCertificateColumns } from './sealed-columns.ts'
export { certificateJobs, removeName, revocationQueue, revocationReasons, revokeCertificateOf } from './revoke.ts'
