/** The width that cli-table3 uses, so that our layout agrees with its drawing. */
declare module "cli-table3/src/utils.js" {
  const utilities: {
    /** The width of the widest line of a text, in columns of a terminal, without colours. */
    strlen(text: string): number;
  };
  export default utilities;
}
