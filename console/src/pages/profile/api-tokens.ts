import { callApi, q } from '../../api/query.ts'

/** Spec 7, 9: a list that loads immediately would flash its skeleton. */
const minimumMs = 300

/** The user's API tokens; takes at least 300 ms. */
export const apiTokensQuery = {
  ...q('user.listApiTokens', {}),
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const [tokens] = await Promise.all([
      callApi('user.listApiTokens', {}, signal),
      new Promise((done) => setTimeout(done, minimumMs)),
    ])
    return tokens
  },
}
