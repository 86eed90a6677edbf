import { q } from '../../api/query.ts'

/** Good until a card changes it (spec 9): each asking sets up a new form at the provider. */
export const settingsQuery = (code: string) => q('billing.getSettings', { params: { code } }, { staleTime: Infinity })
