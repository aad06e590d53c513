/** A Python with torch (of the CPU): Debian's python3-torch belongs to /usr/bin/python3. */
export const testPython = process.env.PINBENCH_TEST_PYTHON ?? "/usr/bin/python3";
