export type { TestOrg, TestUser } from './make.ts'
export { solvedChallenge } from './solve-challenge.ts'
export { startTestApp, type TestApp, type TestAppOptions } from './test-app.ts'
