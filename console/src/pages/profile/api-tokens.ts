import { callApi, q } from '../../api/query.ts'

/** The minimum loading time: the skeleton of a list that loads faster would flicker (spec 7, 9). */
const minLoadMs = 300

/** The user's API tokens. Loading them takes at least 300 ms. */
export const apiTokensQuery = {
  ...q('user.listApiTokens', {}),
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const [tokens] = await Promise.all([
      callApi('user.listApiTokens', {}, signal),
      new Promise((done) => setTimeout(done, minLoadMs)),
    ])
    return tokens
  },
}
