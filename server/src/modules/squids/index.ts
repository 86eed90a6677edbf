export { squidReadHandlers } from './handlers.ts'
export { secretUseHandlers } from './secret-uses.ts'
export { squidStatusOf } from './status.ts'
export { apiPath, apiUrls, hasuraUrls } from './urls.ts'
