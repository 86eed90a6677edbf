/** What a rollback changes and what it does not. */
export const RollbackNote = () => (
  <p>
    It runs with the present secrets, under the same addresses and tags. The database is kept as it is: code that is
    older than its tables may not fit them. What runs now goes on until the other is up.
  </p>
)
