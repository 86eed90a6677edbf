import { useQueryClient } from '@tanstack/react-query'
import { errorText } from '../../api/error-text.ts'
import { openDialog } from '../../components/open-dialog.ts'
import { toast, unexpectedErrorTitle } from '../../lib/toasts.ts'
import { PasswordDialog } from './dialogs.ts'
import { accessQuery } from './queries.ts'

/** The entered password must remain valid for at least this long, so that the operator can fill in a form. */
const minRemainingMs = 120_000

/** Returns a function that runs an action. Unless the operator has entered the password recently, it asks for the password first. */
export function useWithRecentPassword(): (run: () => void) => Promise<void> {
  const client = useQueryClient()
  return async (run) => {
    try {
      const { passwordUntil, hasPassword } = await client.fetchQuery({ ...accessQuery, staleTime: 0 })
      if (passwordUntil !== null && Date.parse(passwordUntil) - Date.now() > minRemainingMs) return run()
      openDialog((close) => <PasswordDialog hasPassword={hasPassword} onEntered={run} onClose={close} />)
    } catch (error) {
      toast({ tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) })
    }
  }
}
